"""Drawn schematics: matrices of computed numbers, boxes and arrows, as inline SVG in the colours of the page.

A drawing is made of parts. Each part knows its own size and is placed beside another one; an arrow leads from part to
part. Nobody types a coordinate, and the drawing finds its own size:

>>> weights = matrix([[1.0, 0.0], [0.27, 0.73]], "weight", "A", mask=[[True, False], [True, True]])
>>> values = matrix([[2, -1], [0, 4]], "value", "V").right_of(weights, gap=70)
>>> parts = [weights, values, arrow(weights, values, "A V")]
>>> drawing = Diagram("Weights meet values", "A, 2 by 2, is multiplied by V, 2 by 2.", parts)
>>> drawing.size, "−1</text>" in drawing.svg()
((235, 88), True)

One role has one colour through the whole book; the letter in a title says the same without colour. In a text, `W_q` and
`d_model` get a subscript, and a line break begins a new line. All texts are escaped.
"""

from course_lib.diagrams.arrows import Arrow, arrow
from course_lib.diagrams.drawing import Diagram
from course_lib.diagrams.groups import Group, beside, column, stack
from course_lib.diagrams.matrices import matrix, shape_of
from course_lib.diagrams.parts import Part
from course_lib.diagrams.shapes import box, bracket, frame, text
from course_lib.diagrams.svg import ROLES, number

__all__ = ["ROLES", "Arrow", "Diagram", "Group", "Part"]
__all__ += ["arrow", "beside", "box", "bracket", "column", "frame", "matrix", "number", "shape_of", "stack", "text"]
