{#
    The exact quotient as a decimal with so many digits after the point, a half rounded away from zero.
    DuckDB's own division makes floating-point numbers, which round a half now up and now down.

    The divisor is positive. Both have two digits after the point at most.
#}
{% macro quotient(dividend, divisor, digits) -%}
    cast(
        (
            cast(2 * 100 * {{ 10 ** digits }} * ({{ dividend }}) as hugeint)
            + cast(sign({{ dividend }}) * 100 * ({{ divisor }}) as hugeint)
        ) // cast(2 * 100 * ({{ divisor }}) as hugeint) as decimal(38, 0)
    ) * 0.{{ "%0*d" | format(digits, 1) }}
{%- endmacro %}
