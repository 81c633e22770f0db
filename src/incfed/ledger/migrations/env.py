"""Run by Alembic, on the connection that `Database` hands over."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
