{# Every row satisfies the expression: false and null both fail. Failing rows are whole rows. #}
{% test row_satisfies(model, expression) %}
    select *
    from {{ model }}
    where ({{ expression }}) is not true
{% endtest %}
