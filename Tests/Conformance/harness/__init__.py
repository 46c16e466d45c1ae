"""The harness of the rows: a gateway, peers that can violate every rule, and the checks after each row."""
