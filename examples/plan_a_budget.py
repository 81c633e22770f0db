"""Find settings within a budget, before anything is launched."""

import incfed

if __name__ == "__main__":  # with several processes, each imports this file
    case = {
        "run": {"steps": 500},
        "world": {"kind": "Synthetic", "clients": 10, "dim": 5, "arms": 5, "pool": 100},
        "costs": {"kind": "lognormal", "median": 10, "spread": 2},  # drawn for each client
        "search": {"widths": ["paper"], "trusts": ["full"]},
    }
    # 16 trials show how it works; the default of 160 finds more.
    plan = incfed.plan(case, budget=200, minimize="regret", trials=16, held_out=4, jobs=1)
    print(plan.advice)
    print(f"regret {plan.regret.mean:.1f}, {plan.payment.mean:.0f} of 200 paid")
    print(plan.config)  # for `incfed run`
