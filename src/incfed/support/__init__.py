"""What every room needs: input errors, files, locks, TOML, caches, downloads, optional extras."""
