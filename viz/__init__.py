"""What is shown: the player, the figures, the tabs, and the words in each language."""
