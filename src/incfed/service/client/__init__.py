"""The client library: a learner with its state on disk, and its requests to a coordinator."""
