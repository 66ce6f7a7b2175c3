package serve

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"path/filepath"
	"testing"
	"time"

	"weft/agents/transfer/internal/images/imagetest"
	"weft/agents/transfer/internal/images/source"
	"weft/routeserver/identity"
)

func TestWhileABlobIsVerifiedTheClientHearsSo(t *testing.T) {
	g := newRig(t)
	layer := imagetest.Bytes(1, 1000)
	image := imagetest.Container(layer)
	image.Write(t, filepath.Join(g.directory, "web"))
	g.store.marks.breath = time.Millisecond
	for range atOnce { // other blobs are being verified
		g.store.marks.turns <- struct{}{}
	}
	secure, err := identity.New(g.client).Peer("c1")
	if err != nil {
		t.Fatal(err)
	}
	heard := 0
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, _ textproto.MIMEHeader) error {
		if heard++; code != http.StatusProcessing {
			t.Errorf("status %d", code)
		}
		if heard == 10 {
			for range atOnce {
				<-g.store.marks.turns
			}
		}
		return nil
	}})
	from := source.Cloudlet("c1", g.address, "web", secure, false)
	blob, _ := parsed(t, image).Blob(image.Layers[0])
	body, _, err := from.Blob(ctx, blob, 0)
	if err != nil || heard < 10 {
		t.Fatalf("%d times, %v", heard, err)
	}
	_ = body.Close()
}

func TestAClientThatLeavesDoesNotStopTheVerifying(t *testing.T) {
	g := newRig(t)
	layer := imagetest.Bytes(1, 1000)
	image := imagetest.Container(layer)
	folder := filepath.Join(g.directory, "web")
	image.Write(t, folder)
	file, blob := opened(t, folder, image)
	for range atOnce {
		g.store.marks.turns <- struct{}{}
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	if err := g.store.marks.verify(left, file, blob, nil); err != context.Canceled {
		t.Errorf("error %v", err)
	}
	for range atOnce {
		<-g.store.marks.turns
	}
	if err := g.store.marks.verify(t.Context(), file, blob, func() {}); err != nil {
		t.Error(err)
	}
	if n := len(g.store.marks.known); n != 1 {
		t.Errorf("%d marks", n)
	}
}
