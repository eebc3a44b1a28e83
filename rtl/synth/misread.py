# SPDX-License-Identifier: BSD-3-Clause
"""What yosys 0.23 reads otherwise than it is meant, without a word: texts that hardware must not have."""
import re


def in_text(text):
    """What is wrong first, and what to do instead; None if nothing is."""
    for kind in re.findall(r"}\s*(\w+)\s*;", text):
        wrong = re.search(rf"^ *{kind} +\w+ *\[.*", text, re.M)
        if wrong:
            return (f"'{wrong[0].strip()}': yosys would make one structure of it; declare an array of "
                    "plain words")
    # '1 is a single one where a constant chooses it: N != 0 ? a : '1.
    wrong = re.search(r"\b[A-Z]\w* *[!=<>]=? *\w+ *\?[^;]*[?:] *'1.*", text)
    if wrong:
        return f"'{wrong[0]}': yosys would make 1 of '1; write as many ones as there are bits"
    return None
