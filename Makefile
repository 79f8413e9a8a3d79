# Two commands do everything on a fresh machine: `make demo` and `make test`.
# torch_npu fixes the torch version, so the two are always installed as a pair, torch first.
PYTHON    ?= python3
TORCH     ?= 2.13.0
TORCH_NPU ?= 2.13.0
VENV      ?= .venv

BIN   := $(VENV)/bin
READY := $(VENV)/.ready-$(TORCH)-$(TORCH_NPU)
PIP   := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.PHONY: demo test sanitize compat lint format bench clean

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

## Prove the samples on other pairs of torch and torch_npu, each in an environment of its own (docs/stand_in.md).
## Where pip's index has only CUDA builds of torch, name one with CPU builds: make compat COMPAT_INDEX=URL.
## torch_npu is installed without what it requires: 2.7.1.post11 asks for "2.7.1+cpu", which PyPI does not have.
COMPAT ?= 2.7.1:2.7.1.post11 2.14.0:2.14.0
COMPAT_INDEX ?=
compat:
	@failed=; for pair in $(COMPAT); do \
	    torch=$${pair%%:*}; bin=.compat/$$torch/bin; \
	    $(PYTHON) -m venv .compat/$$torch && \
	    $$bin/python -m pip install --quiet $(if $(COMPAT_INDEX),--index-url $(COMPAT_INDEX)) "torch==$$torch" && \
	    $$bin/python -m pip install --quiet --no-deps "torch_npu==$${pair##*:}" && \
	    $$bin/python -m pip install --quiet --editable '.[torchair]' || exit 1; \
	    for sample in samples/*/ops.yaml; do \
	        $$bin/opkit prove $$sample || failed="$$failed $$torch:$$sample"; \
	    done; \
	done; \
	test -z "$$failed" || { echo "not proved:$$failed"; exit 1; }

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
