"""SBML level 3 version 2: one parameter and one rate rule per coordinate."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

from jetode.equations.writers import ContentMathML
from jetode.reporting.motion import Motion

CONTENT = "http://www.w3.org/1998/Math/MathML"
SBML = "http://www.sbml.org/sbml/level3/version2/core"


def write(motion: Motion) -> str:
    """An SBML document."""
    parameters = "\n".join(
        f'      <parameter id="{n}" value="{v!r}" constant="false"/>'
        for n, v in zip(motion.names, motion.start, strict=True)
    )
    rules = "\n".join(
        f'      <rateRule variable="{n}"><math xmlns="{CONTENT}">{rate}</math></rateRule>'
        for n, rate in zip(motion.names, motion.written(ContentMathML()), strict=True)
    )
    if motion.reads:
        parameters += f'\n      <parameter id="{motion.signal}" constant="false"/>'
        read = f'<math xmlns="{CONTENT}">{motion.read(ContentMathML())}</math>'
        rules += f'\n      <assignmentRule variable="{motion.signal}">{read}</assignmentRule>'
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<sbml xmlns="{SBML}" level="3" version="2">
  <model id="jetode" name={quoteattr(" ".join(motion.comments))}>
    <listOfParameters>
{parameters}
    </listOfParameters>
    <listOfRules>
{rules}
    </listOfRules>
  </model>
</sbml>
"""
