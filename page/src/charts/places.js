/** Where circles lie in a box: spread over it, and pushed apart where they hide each other. */

const STRETCHED = 2; // one direction more than the other, at most
const NEAREST = 1; // of the sum of two radii
const ROUNDS = 400;
const PAIRS = 2e7; // looked at, so that a thousand circles take a moment only

/**
 * Place circles so that near ones stay near and each can be seen.
 * @param {{x: number, y: number, radius: number}[]} circles with x and y in any unit, y upwards;
 *   theirs are replaced by pixels, y downwards
 * @param {{width: number, height: number}} corner at the upper right that is to stay free
 */
export function spread(circles, { width, height }, edge, corner = { width: 0, height: 0 }) {
  const xs = axis(circles.map(({ x }) => x));
  const ys = axis(circles.map(({ y }) => -y));
  const least = edge + Math.max(...circles.map(({ radius }) => radius));
  const fits = [(width - 2 * least) / xs.length, (height - 2 * least) / ys.length];
  const most = STRETCHED * Math.min(...fits);
  for (const [i, circle] of circles.entries()) {
    circle.x = width / 2 + (xs.values[i] - xs.middle) * Math.min(fits[0], most);
    circle.y = height / 2 + (ys.values[i] - ys.middle) * Math.min(fits[1], most);
  }
  let rounds = Math.min(ROUNDS, PAIRS / circles.length ** 2);
  const box = { width, height, edge, corner };
  for (let isOver = keep(circles, box); rounds-- > 0 && (pushed(circles) || isOver);) {
    isOver = keep(circles, box);
  }
}

function axis(values) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return { values, middle: (least + most) / 2, length: Math.max(most - least, 1e-6) };
}

/** Move each two circles that overlap a little apart; tell whether there were any. */
function pushed(circles) {
  let any = false;
  for (let i = 0; i < circles.length; i++) {
    const a = circles[i];
    for (let j = 0; j < i; j++) {
      const b = circles[j];
      const apart = NEAREST * (a.radius + b.radius);
      const [right, down] = [a.x - b.x, a.y - b.y];
      const square = right * right + down * down;
      if (square >= apart * apart) continue;
      any = true;
      const distance = Math.sqrt(square);
      const [x, y] = distance > 1e-6 ? [right / distance, down / distance] : [1, 0];
      const part = a.radius / (a.radius + b.radius); // the smaller one moves more
      a.x += x * (apart - distance) * (1 - part);
      a.y += y * (apart - distance) * (1 - part);
      b.x -= x * (apart - distance) * part;
      b.y -= y * (apart - distance) * part;
    }
  }
  return any;
}

/** Move circles into the box and out of its upper right corner; tell whether one was in that. */
function keep(circles, { width, height, edge, corner }) {
  let any = false;
  for (const circle of circles) {
    const least = edge + circle.radius;
    circle.x = Math.max(least, Math.min(width - least, circle.x));
    circle.y = Math.max(least, Math.min(height - least, circle.y));
    const left = circle.x + circle.radius - (width - corner.width);
    const down = corner.height - (circle.y - circle.radius);
    if (!corner.width || left <= 1e-9 || down <= 1e-9) continue;
    any = true;
    if (left < down) circle.x -= left;
    else circle.y += down;
  }
  return any;
}
