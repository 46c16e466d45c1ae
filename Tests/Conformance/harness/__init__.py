"""What the rows share: a gateway to attack, peers that may break every rule, and the checks behind each row."""
