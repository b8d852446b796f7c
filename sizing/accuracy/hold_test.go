package accuracy
import ("testing";"fmt";"math";"slices";"os";"github.com/llmctl/llmctl/sizing/fit")
func TestX(t *testing.T){
 d,_:=Open("")
 points,left,err:=Points(d)
 fmt.Println(len(points),left,err)
 for _,m:=range []struct{n string;f func(*fit.Point) string}{{"shape",fit.ByShape},{"load",fit.ByLoad(points)},{"kind",fit.ByKind}} {
  h,err:=fit.HoldOut(points,points,m.f)
  if err!=nil{t.Fatal(err)}
  by:=map[string][]float64{}
  var o []string
  for _,x:=range h { p:=x.Point
   for _,k:=range []string{fmt.Sprint(p.Facts.MoE),p.Model+" "+p.Engine+" "+p.Family} { if by[k]==nil{o=append(o,k)}; by[k]=append(by[k],x.Ratio()) }
   if os.Getenv("V")==m.n { fmt.Printf("%s %s %s tp%d in %.0f c %.0f r %.1f slots %.0f tpot %.1f ratio %.2f\n",p.ID,p.Model,p.Device.Name,p.Facts.Tensor,p.Load.Input,p.Load.Concurrency,p.Rate,p.Load.Slots,p.TPOT*1e3,x.Ratio()) }
  }
  fmt.Println("==",m.n)
  for _,k:=range o { v:=by[k]; var a []float64; for _,r:=range v {a=append(a,math.Abs(r-1))}; slices.Sort(v); slices.Sort(a); n:=len(a)
   fmt.Printf("%-45s n %3d med %.2f abs %.3f p90 %.3f\n",k,n,v[n/2],a[n/2],a[n*9/10]) }
 }
}
