"""What is known of models: their windows, prices and addresses, and the keys to them."""
