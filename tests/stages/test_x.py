from tests.support.stages import run_stages
def test_x(shop, real_dbt):
    shop.deliver_day("2026-03-01")
    print(run_stages(shop.pipeline, ["2026-03-01"]))
