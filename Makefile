# The front door. The build itself is CMake (CMakePresets.json); see CONTRIBUTING.md.
SHELL := /bin/bash
PREFIX ?= /usr/local
DESTDIR ?=

.PHONY: help build demo test bench install wheel format lint clean

help:
	@echo "make demo      set up, build, run the RMSNorm walkthrough on the virtual NeuronCore"
	@echo "make test      set up, build, run every test"
	@echo "make build     set up and build: build/opscope, the Python environment .venv"
	@echo "make bench     run the benchmarks under bench/"
	@echo "make install   install the program, man pages, headers [PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)]"
	@echo "make wheel     build a wheel of the PyTorch adapter into dist/"
	@echo "make lint      check layers, style and formatting"
	@echo "make format    format C and C++ sources with clang-format"
	@echo "make clean     remove what was built; .venv stays"

build:
	@tools/setup.sh

demo: build
	@.venv/bin/python tools/demo.py

test: build
	@python3 tools/run_tests.py $(STAGES)

bench: build
	@tools/bench.sh

install:
	@test -f build/build.ninja || tools/setup.sh
	@cmake --build build
	@DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"

wheel: build
	@.venv/bin/python -m pip wheel --quiet --no-deps --no-build-isolation -w dist ./python
	@ls dist/*.whl

lint:
	@python3 tools/check_layers.py
	@python3 tools/top_length.py
	@tools/format.sh --check

format:
	@tools/format.sh

clean:
	rm -rf build dist python/build python/*.egg-info python/torch_neuronx/_C*.so
