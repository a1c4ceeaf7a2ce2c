"""What an answer may assume, what is shown when nobody vouches for it, and what would change it."""
