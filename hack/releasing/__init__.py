"""What is handed out of this repository: packages, an image, and what they can be checked by."""
