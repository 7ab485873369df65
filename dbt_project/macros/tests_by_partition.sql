{#
    dbt's own tests, except that their failing rows carry the partition they belong to, that `unique`
    means unique within the partition, and that `relationships` looks for the parent in the same
    partition. dbt finds these before its own (adapter.dispatch asks the root project first).

    In a folder that declares no raw tables, such as a pipeline's reporting tables, they are dbt's own.
    `not_null` needs nothing: with stored failures its rows are whole rows.
#}

{# The column that carries the partition in the folder of the test at hand; none where there is none. #}
{% macro column_of_partitions() %}
    {%- for source in (graph.sources or {}).values() -%}
        {%- if source.schema == 'raw' and source.fqn[1] == model.fqn[1] -%}
            {%- for column in source.columns if column in ('_date', '_hour') -%}
                {{ return(column) }}
            {%- endfor -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(none) }}
{% endmacro %}


{% macro duckdb__test_unique(model, column_name) %}
    {%- set partition_column = column_of_partitions() -%}
    {%- if partition_column is none -%}
        {{ return(dbt.default__test_unique(model, column_name)) }}
    {%- endif -%}

    select
        {{ partition_column }},
        {{ column_name }} as unique_field,
        count(*) as n_records
    from {{ model }}
    where {{ column_name }} is not null
    group by all
    having count(*) > 1
{% endmacro %}


{% macro duckdb__test_accepted_values(model, column_name, values, quote=True) %}
    {%- set partition_column = column_of_partitions() -%}
    {%- if partition_column is none -%}
        {{ return(dbt.default__test_accepted_values(model, column_name, values, quote)) }}
    {%- endif -%}

    select
        {{ partition_column }},
        {{ column_name }} as value_field,
        count(*) as n_records
    from {{ model }}
    where
        {{ column_name }} not in (
            {%- for value in values %}
            {{ dbt.string_literal(dbt.escape_single_quotes(value)) if quote else value }}
            {{- "," if not loop.last }}
            {%- endfor %}
        )
    group by all
{% endmacro %}


{% macro duckdb__test_relationships(model, column_name, to, field) %}
    {%- set partition_column = column_of_partitions() -%}
    {%- if partition_column is none -%}
        {{ return(dbt.default__test_relationships(model, column_name, to, field)) }}
    {%- endif -%}

    with child as (
        select
            {{ partition_column }},
            {{ column_name }} as from_field
        from {{ model }}
        where {{ column_name }} is not null
    ),

    parent as (
        select
            {{ partition_column }},
            {{ field }} as to_field
        from {{ to }}
    )

    select child.*
    from child
    anti join parent
        on
            child.{{ partition_column }} = parent.{{ partition_column }}
            and child.from_field = parent.to_field
{% endmacro %}
