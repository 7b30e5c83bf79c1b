"""The figures of the papers, one function each: labelled data, a plot, and a caption that says exact or analogue."""
