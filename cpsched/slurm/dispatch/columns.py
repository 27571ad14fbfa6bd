"""Columns of the records of jobs, as the native scheduler shows them."""

#: The record's number, and the row of its job in the job store.
NUMBER, ROW = 0, 1
#: Its partition, the job's array, user and association; -1: none.
PARTITION, ARRAY, USER, ASSOCIATION = range(2, 6)
#: The reservation that the job runs in (-1: none), and the second before which it does not start.
RESERVATION, BEGINS = 6, 7
#: The job's priority, and the second from which on it may hold up others.
PRIORITY, RESERVES_FROM = 8, 9
#: The position of its QOS in the policy (-1: none), and the limits that it counts in.
QOS, LIMIT_SET = 10, 11
NUM_COLUMNS = 12
