import { type Arm, COUNT_MEASURE, type Phase } from "../domain/experiment.ts";
import type { Tx } from "../postgres/database.ts";
import { countImmatureByArm } from "../tables/experiment-invoices.ts";
import { type CellTally, talliesOf } from "../tables/experiment-results.ts";

export interface ArmTotals {
  phase: Phase;
  arm: Arm;
  /** Customers with at least one counted invoice. */
  customers: number;
  counted: number;
  recovered: number;
  young: number;
}

export const isArmShown = ({ phase, counted, young }: ArmTotals) => phase === "comparison" || counted + young > 0;

export async function loadArmTotals(tx: Tx, merchantId: string, experimentId: string): Promise<ArmTotals[]> {
  const [tallies, immature] = await Promise.all([
    talliesOf(tx, merchantId, experimentId),
    countImmatureByArm(tx, merchantId, experimentId),
  ]);
  return (["calibration", "comparison"] as const).flatMap((phase) =>
    (["dunlin", "merchant"] as const).map((arm) => {
      const cells = tallies.filter(
        (cell) => cell.phase === phase && cell.arm === arm && cell.measure === COUNT_MEASURE,
      );
      const sum = (read: (cell: CellTally) => number) => cells.reduce((total, cell) => total + read(cell), 0);
      return {
        phase,
        arm,
        customers: sum(({ customers }) => customers),
        counted: sum(({ due }) => due),
        recovered: sum(({ got }) => got),
        young: immature.find((each) => each.phase === phase && each.arm === arm)?.n ?? 0,
      };
    }),
  );
}
