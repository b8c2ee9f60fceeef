/** The screen Mrr. */
import { Empty } from "../../parts/states.js";
import { Bar } from "../../shell/bar.js";

export default function Mrr() {
  return (
    <>
      <Bar title="Mrr" />
      <Empty title="Not built yet" />
    </>
  );
}
