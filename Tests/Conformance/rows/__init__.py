"""The tables of bad inputs, one module each; importing a module registers its rows."""
