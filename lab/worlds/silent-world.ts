import type { Charge, World } from "./world.ts";

/** As for a merchant that pushes no transactions. */
export function createSilentWorld(world: World): World {
  const mute = ({ at, approved, paymentMethodType }: Charge): Charge => ({ at, approved, paymentMethodType });
  return {
    name: `${world.name}, silent`,
    *bills(seed, customers) {
      for (const bill of world.bills(seed, customers)) yield { ...bill, first: mute(bill.first) };
    },
    charge: (bill, at) => mute(world.charge(bill, at)),
    approval: (bill, at, tried) => world.approval(bill, at, tried),
  };
}
