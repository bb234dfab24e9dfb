"""Pictures as SVG text, drawn by small functions: bars, columns over time, lines, a timeline. No library is used."""
