#!/usr/bin/env bash
# Builds the gateways that the costs are counted with, beside the release itself: scripts/release comes first.
set -euo pipefail
cd "$(dirname "$0")/../.."
# `calls` and `disassembly` need a shared runtime.
LoadTests/Costs/link_shared.py
# `files` needs code without inlining.
swift build --product chirrup
