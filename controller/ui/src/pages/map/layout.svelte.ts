/** Positions for a graph's nodes, by forces, in slices of a frame: the page never stands still. */

import {
  forceCollide,
  forceLink,
  forceManyBody,
  forceSimulation,
  forceX,
  forceY,
  type SimulationNodeDatum,
} from 'd3-force';
import { untrack } from 'svelte';
import { NOWHERE, positions, radius, type Node, type Positions, type Topology } from './topology';

type Body = SimulationNodeDatum & { id: string; node: Node };

const SLICE = 8; // milliseconds of a frame
const BRIEF = 0.3; // heat of a graph most of whose nodes have their places

export class Layout {
  positions = $state.raw<Positions>(NOWHERE);
  /** Whether the nodes have come to rest. */
  settled = $state(false);
}

/** Return the positions for a component's graph. Nodes that were there before begin where they are; the same graph comes to
    the same picture. */
export function layout(graph: () => Topology): Layout {
  const found = new Layout();
  $effect(() => {
    const { nodes, edges } = graph();
    const before = untrack(() => found.positions);
    const bodies = nodes.map((node): Body => ({ id: node.id, node, ...before.get(node.id) }));
    const known = bodies.filter((body) => body.x !== undefined).length;
    const simulation = forceSimulation(bodies)
      .force(
        'link',
        forceLink<Body, { source: string | Body; target: string | Body }>(edges.map((edge) => ({ ...edge })))
          .id((body) => body.id)
          .distance(70),
      )
      .force(
        'charge',
        forceManyBody<Body>().strength((body) => (body.node.kind === 'pool' ? -420 : -110)),
      )
      .force(
        'collide',
        forceCollide<Body>((body) => radius(body.node) + 10),
      )
      .force('x', forceX(0).strength(0.06))
      .force('y', forceY(0).strength(0.08))
      .alpha(known > nodes.length / 2 ? BRIEF : 1)
      .stop();
    found.settled = false;
    let frame = requestAnimationFrame(function work() {
      const began = performance.now();
      do simulation.tick();
      while (simulation.alpha() >= simulation.alphaMin() && performance.now() - began < SLICE);
      found.positions = positions(bodies);
      if (simulation.alpha() < simulation.alphaMin()) found.settled = true;
      else frame = requestAnimationFrame(work);
    });
    return () => cancelAnimationFrame(frame);
  });
  return found;
}
