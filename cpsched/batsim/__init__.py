"""The protocol of Batsim: its schedulers inside cpsched, and our dispatchers beside Batsim."""
