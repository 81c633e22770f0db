"""The protocol over HTTPS: the coordinator, and the client that an application embeds."""
