/** The screen Movements. */
import { Empty } from "../../parts/states.js";
import { Bar } from "../../shell/bar.js";

export default function Movements() {
  return (
    <>
      <Bar title="Movements" />
      <Empty title="Not built yet" />
    </>
  );
}
