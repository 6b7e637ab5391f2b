# Everything a newcomer needs, in a few words. Each target sets up what it needs first.
.DEFAULT_GOAL := help
.PHONY: help demo test check bench lock

python := .venv/bin/python

help: ## say what can be made
	@sed -n 's/^\([a-z]*\):.*## /make \1	/p' $(MAKEFILE_LIST)

demo: ## a daemon on a bundled sample, with one client that drives and one that watches
	@tools/setup.sh run
	@$(python) clients/python/demo.py

test: ## set up, then all checks and all tests
	@started=$$(date +%s); status=0; \
	tools/setup.sh tests || exit 1; \
	$(MAKE) --no-print-directory check-only || status=1; \
	tools/check_extension.sh || status=1; \
	tools/check_pi.sh || status=1; \
	tools/run_tests.sh || status=1; \
	echo "make test: $$(( $$(date +%s) - started )) s"; exit $$status

check: ## lint, format and types
	@tools/setup.sh run
	@$(MAKE) --no-print-directory check-only

# Each of them has its say, whatever the others found.
.PHONY: check-only
check-only:
	@status=0; \
	$(python) -m ruff check . || status=1; \
	$(python) -m ruff format --check . || status=1; \
	$(python) -m mypy || status=1; \
	tools/check_lua.sh || status=1; \
	exit $$status

.PHONY: vsix
vsix: ## pack the VS Code extension into vscode-extension/dist
	@vscode-extension/scripts/vsix.sh

bench: ## measure us and pi on large files
	@tools/setup.sh tests
	@$(python) tests/bench/bench.py

lock: ## remake the locks
	@tools/setup.sh run
	@tools/lock.sh
