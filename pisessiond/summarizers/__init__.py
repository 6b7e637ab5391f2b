"""Whoever can write a summary: models over HTTP, pi, a program, a client, or no model at all."""
