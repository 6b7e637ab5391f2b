"""What answers each method: one module a family. Handlers call the service, never a store."""
