"""A table of costs, stored with the code. The check fails if a cost rises, and also if it falls: a gain must be
recorded, so that its loss is detected. `--record` rewrites the table."""


class Thresholds:
    def __init__(self, path, columns, share, least, may_rise=True):
        """A figure may differ by the fraction `share`, or by `least` if that is more. `least` may be a dict by row."""
        self.path, self.columns, self.share, self.least, self.may_rise = path, columns, share, least, may_rise
        self._read()

    def _read(self):
        self.comments, self.rows = [], {}
        with open(self.path) as file:
            for line in file:
                fields = line.split()
                if line.startswith("#"):
                    self.comments.append(line.rstrip("\n"))
                elif fields and fields != list(self.columns):
                    self.rows[fields[0]] = dict(zip(self.columns, map(float, fields[1:]), strict=True))

    def record(self, found):
        for name, figures in found.items():
            known = self.rows.setdefault(name, dict(figures))
            for column in self.columns:
                if self.may_rise or figures[column] < known[column]:
                    known[column] = figures[column]
        width = max(len(name) for name in self.rows) + 2
        lines = [*self.comments, "", " " * width + "".join(f"{column:>14}" for column in self.columns)]
        for name, figures in self.rows.items():
            lines.append(f"{name:{width}}" + "".join(f"{spelled(figures[column]):>14}" for column in self.columns))
        with open(self.path, "w") as file:
            file.write("\n".join(lines) + "\n")
        # Compares with the rounded figures of the file.
        self._read()

    def judge(self, found, all=True):
        """Prints every figure with the recorded one. Returns 1 if a figure differs, or is missing on one side."""
        wrong = []
        width = max((len(name) for name in found), default=0) + 2
        print(" " * width + "".join(f"{column:>26}" for column in self.columns))
        for name, figures in found.items():
            known = self.rows.get(name)
            if known is None:
                wrong.append(f"{name} has no threshold")
                continue
            print(f"{name:{width}}" + "".join(
                f"{spelled(figures[column]):>14} {'of ' + spelled(known[column]):>11}" for column in self.columns))
            for column in self.columns:
                difference = figures[column] - known[column]
                least = self.least[name] if isinstance(self.least, dict) else self.least
                if abs(difference) > max(self.share * known[column], least):
                    change = f" ({100 * difference / known[column]:+.0f} %)" if known[column] else ""
                    wrong.append(f"{name}: {column} were {spelled(known[column])} and are {spelled(figures[column])}"
                                 f"{change}")
        if all:
            wrong += [f"{name} has a threshold and was not counted" for name in self.rows if name not in found]
        for line in wrong:
            print(f"FAIL  {line}")
        if wrong:
            print(f"Record a better figure too: the same command with --record rewrites {self.path}"
                  + ("" if self.may_rise else ", but raises no figure"))
        return 1 if wrong else 0


def spelled(value):
    return f"{value:.0f}" if value >= 1000 or value == int(value) else f"{value:.1f}" if value >= 100 else f"{value:.2f}"
