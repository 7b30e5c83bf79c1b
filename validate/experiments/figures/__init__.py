"""The papers' figures, one function each: labelled data, a drawing, and a caption that says exact or analogue."""
