"""What the webhook answers: functions from requests to values, without input or output."""
