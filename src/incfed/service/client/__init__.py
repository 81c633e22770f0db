"""What an application embeds: a learner with a memory on disk, and its talk with a coordinator."""
