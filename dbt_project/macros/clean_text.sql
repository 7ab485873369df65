{# The text without the white space around it; null when nothing else is left. #}
{% macro clean_text(column) -%}
    nullif(trim({{ column }}, e' \t\r\n'), '')
{%- endmacro %}
