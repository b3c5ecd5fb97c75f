"""One style for every picture: drawn once as SVG, shown in the page, saved as SVG, PNG, PDF or HTML."""
