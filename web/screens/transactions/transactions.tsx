/** The screen Transactions. */
import { Empty } from "../../parts/states.js";
import { Bar } from "../../shell/bar.js";

export default function Transactions() {
  return (
    <>
      <Bar title="Transactions" />
      <Empty title="Not built yet" />
    </>
  );
}
