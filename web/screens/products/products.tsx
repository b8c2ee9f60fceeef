/** The screen Products. */
import { Empty } from "../../parts/states.js";
import { Bar } from "../../shell/bar.js";

export default function Products() {
  return (
    <>
      <Bar title="Products" />
      <Empty title="Not built yet" />
    </>
  );
}
