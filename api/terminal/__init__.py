"""What commands share: options, the screen, files that appear whole, progress, words for people and rows for programs."""
