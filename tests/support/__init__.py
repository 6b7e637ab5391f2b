"""What tests share: real programs to ask, and helpers that know the product's API."""
