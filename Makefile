# The front door; meson does the work. Each target installs what it needs first (scripts/setup.sh,
# silent when nothing is missing), so `make demo` and `make test` work on a fresh Debian machine.
#
#   make            build                      make bench     speed, against qemu
#   make demo-html  build, and write two pages for a browser (docs/html.md)
#   make demo       build and show             make lint      layout, layers, headers, static analysis
#   make test       build and run the tests    make fmt       clang-format in place
#   make test-all   all, with the slow ones    make install   PREFIX=/usr/local, DESTDIR=
#
# Variables: BUILD (build directory), MESON_FLAGS (for a new build directory), TEST_FLAGS (for meson
# test), SETUP=: (install nothing).

BUILD ?= build
MESON_FLAGS ?=
TEST_FLAGS ?=
SETUP ?= scripts/setup.sh
PREFIX ?= /usr/local

ninja = ninja -C $(BUILD)
meson_test = meson test -C $(BUILD) --print-errorlogs $(TEST_FLAGS)

all: setup-build configure
	@$(ninja)

demo: setup-demo configure
	@$(ninja) --quiet src/culprit workloads/mean_shift
	@scripts/demo $(BUILD)

demo-html: setup-demo configure
	@$(ninja) --quiet src/culprit workloads/lbm
	@scripts/demo-html $(BUILD)

test: setup-test configure
	@$(ninja)
	@$(meson_test) --setup=quick

test-all: setup-test setup-slow configure
	@$(ninja)
	@$(meson_test) --setup=all

bench: setup-bench configure
	@$(ninja)
	@scripts/bench $(BUILD)

lint: setup-lint
	@scripts/lint

fmt: setup-lint
	@git ls-files -z -- '*.c' '*.h' | xargs -0 clang-format -i

install: all
	@meson configure $(BUILD) --prefix=$(abspath $(PREFIX))
	@meson install -C $(BUILD) $(if $(DESTDIR),--destdir=$(abspath $(DESTDIR)))

clean:
	@rm -rf $(BUILD)

setup-%:
	@$(SETUP) build $(filter-out build,$*)

# This configures a new build directory; from then on meson reconfigures by itself.
configure: $(BUILD)/build.ninja
$(BUILD)/build.ninja:
	@meson setup $(BUILD) $(MESON_FLAGS)

.PHONY: all demo demo-html test test-all bench lint fmt install clean configure
