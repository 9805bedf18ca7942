"""The certificate that the webhook serves: as a value, shared by replicas, trusted, renewed."""
