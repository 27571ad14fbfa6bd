"""Deciding by scenarios: rules propose what starts now, rollouts of likely futures choose."""
