"""attributes: the templates of a type's attributes are put in order once in a compile.

numba-cuda sorts them by their targets for each attribute of each value, and again in several passes.
"""

from __future__ import annotations

from typing import Any

from gridjit.compiler.frontend.faster.piece import Piece, Replace


def _install(replace: Replace) -> None:
    from numba.cuda.typing import context as contexts

    orders: dict[tuple[Any, ...], list[Any]] = {}

    def find_matching_getattr_template(context: Any, typ: Any, attr: Any) -> Any:
        templates = tuple(context._get_attribute_templates(typ))
        if (order := orders.get(templates)) is None:
            order = orders[templates] = contexts.order_by_target_specificity([*templates], fnkey=attr)
        for template in order:
            if (found := template.resolve(typ, attr)) is not None:
                return {"template": template, "return_type": found}
        return None

    replace(contexts.BaseContext, "find_matching_getattr_template", find_matching_getattr_template)


PIECE = Piece(
    name="attributes",
    written_for={
        "numba.cuda.typing.context:BaseContext.find_matching_getattr_template": ("12 lines, 7a0e19daf69cbfa1",),
        "numba.cuda.utils:order_by_target_specificity": ("41 lines, 96af6789b377a7ce",),
    },
    install=_install,
)
