# Two commands do everything on a fresh machine: `make demo` and `make test`.
# torch_npu fixes the torch version, so the two are always installed as a pair, torch first.
PYTHON    ?= python3
TORCH     ?= 2.13.0
TORCH_NPU ?= 2.13.0
VENV      ?= .venv

BIN   := $(VENV)/bin
READY := $(VENV)/.ready-$(TORCH)-$(TORCH_NPU)
PIP   := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.PHONY: demo test sanitize lint format bench clean

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) 'torch==$(TORCH)'
	$(PIP) --editable '.[npu,test,dev]' 'torch==$(TORCH)' 'torch_npu==$(TORCH_NPU)'
	@rm -f $(VENV)/.ready-*
	@touch $@

## Prove the sample operators in both graphs; the evidence goes to the screen, report/proof.html and proof.json.
demo: $(READY)
	@mkdir -p report
	$(BIN)/opkit prove samples/my_op/ops.yaml samples/my_inplace/ops.yaml \
	    --gate --report html:report/proof.html --report json:report/proof.json

## Run every test. PYTEST_ARGS is handed to pytest.
test: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal $(PYTEST_ARGS)

## The stand-in's native tests under AddressSanitizer and UBSan; `make test` runs them, too.
sanitize: $(READY)
	$(BIN)/python -m pytest -m sanitizers

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(BIN)/python -m bench

clean:
	rm -rf $(VENV) report build dist
