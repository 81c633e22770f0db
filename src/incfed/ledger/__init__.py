"""The durable record of rounds, offers and payments, and the proof that it was not changed."""
