# SPDX-License-Identifier: MIT
"""What tests stand on: one module a noun. Fixtures that hand them out are in tests/conftest.py."""
